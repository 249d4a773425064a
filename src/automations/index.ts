/**
 * The first-party automations, published as `muster/automations`; ordinary modules that see what any third party sees.
 */
import { defineHttpProbe } from './http-probe.ts'
import { defineHttpRequest } from './http-request.ts'

export const httpProbe = defineHttpProbe(process.env)
export const httpRequest = defineHttpRequest(process.env)
