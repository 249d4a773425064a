/** The audit trail: who changed what, and which tokens were refused. */
export {
  AUDIT_CLASSES,
  AuditTrail,
  NO_AUDIT,
  type Audit,
  type AuditClass,
  type AuditOptions,
  type TokenRejection,
} from './audit.ts'
