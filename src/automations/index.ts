/** The first-party automations, published as `muster/automations`; ordinary modules that see what any third party sees. */
export { httpProbe } from './http-probe.ts'
export { httpRequest } from './http-request.ts'
