/** The HTTP layer of the master: route table, admission checks, limits and responses. */
export { createDashboard } from './dashboard.ts'
export { FairShare } from './fair-share.ts'
export { Http } from './http.ts'
export { checkDocument } from './json-document.ts'
export { checkNotAfter, NOT_AFTER } from './not-after.ts'
export { createOpenApi } from './openapi.ts'
export { RateLimiter } from './rate-limit.ts'
export { countHeader, originForm } from './request-head.ts'
export {
  JsonChunks,
  RawJson,
  route,
  type HandlerResult,
  type Route,
  type RouteRequest,
  type StreamBody,
} from './route.ts'
export { rejectRaw, type Address } from './server.ts'
export { StartupListener } from './startup.ts'
export { tlsFault, watchTls, type TlsOptions, type TlsPair } from './tls.ts'
