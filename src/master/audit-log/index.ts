/** The audit log of the store: who changed what, for people who ask later. The trail (audit/) writes it. */
export { createAuditLog } from './routes.ts'
