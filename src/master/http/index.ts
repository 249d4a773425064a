/** The HTTP layer of the master: route table, admission checks, limits and responses. */
export { createDashboard } from './dashboard.ts'
export { Http } from './http.ts'
export { createOpenApi } from './openapi.ts'
export { RateLimiter } from './rate-limit.ts'
export { RawJson, route, type Route, type RouteRequest } from './route.ts'
export { StartupListener } from './startup.ts'
