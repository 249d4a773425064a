/** The master: a registry, a control channel, queues, streams and pools behind one REST API. */
export { AUDIT_CLASSES, type AuditClass, type AuditOptions } from './audit/index.ts'
export {
  generateToken,
  readTokens,
  TOKEN_VARIABLES,
  tokenWarnings,
  type TokenReading,
  type TokenSettings,
} from './auth/index.ts'
export type { AcceptedSocket } from './control/index.ts'
export type { AlertSettings, SignInSettings } from './deps.ts'
export { tlsFault, type TlsOptions, type TlsPair } from './http/index.ts'
export { startMaster, type MasterOptions, type RunningMaster } from './master.ts'
export { parseRelease } from './master-releases.ts'
