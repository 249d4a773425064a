/** The HTTP side of the master: the route table, the checks every request passes, answers and limits. */
export { createDashboard } from './dashboard.ts'
export { createHttp, type Http } from './http.ts'
export { createOpenApi } from './openapi.ts'
export { RateLimiter } from './rate-limit.ts'
export { RawJson, route, type Route, type RouteRequest } from './route.ts'
export { StartupListener } from './startup.ts'
