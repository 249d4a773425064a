/**
 * @module protocol/audit
 * Defines the audit log that the store keeps: who changed what, and how each call ended.
 * @see D87, D235
 */
import { Type, type Static } from 'typebox'
import { MAX_ACTOR_CHARS, MAX_AUDIT_PAGE } from './limits.ts'
import { AutomationType, Name, Nullable, Seconds, Strict } from './names.ts'

/** How a call ended. `unknown`: the store did not respond, so the change may have been made. */
const AUDIT_OUTCOMES = ['done', 'refused', 'failed', 'unknown'] as const
/** How a call ended. */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** The holder of the token of a call. */
const AuditActor = Type.Object({
  name: Type.String({ description: 'The name in SVC_TOKENS, else 8 hex digits of the SHA-256 of the token.' }),
  kind: Type.String({ description: '`token` or `jwt`.' }),
  issuer: Type.Optional(Type.String({ description: 'Of a JWT, the name of its issuer in SVC_JWT_ISSUERS.' })),
  roles: Type.Array(Type.String()),
})

/** One entry of the audit log. Several equal calls within a minute share an entry. */
export const AuditEntry = Type.Object({
  n: Type.Integer({ minimum: 1, description: 'Grows with each entry.' }),
  ts: Seconds,
  actor: Nullable(AuditActor),
  claimed_actor: Nullable(Type.String({ description: 'The header Muster-Actor. Nothing checks it.' })),
  action: Type.String({ description: 'For example worker.drain.' }),
  route: Type.String(),
  type: Nullable(Type.String()),
  object: Nullable(Type.String({ description: 'The worker, task, pool or other object; null for a whole type.' })),
  outcome: Type.Enum([...AUDIT_OUTCOMES]),
  status: Type.Integer(),
  count: Type.Integer({ minimum: 0, description: 'How many things the calls changed.' }),
  calls: Type.Integer({ minimum: 1, description: 'How many equal calls of this minute the entry stands for.' }),
  changed: Type.Array(Type.String(), { description: 'Names of the changed fields of a config, without values.' }),
  request_id: Type.String(),
  peer: Nullable(Type.String({ description: 'The address of the connection, which may be that of a proxy.' })),
})
export type AuditEntry = Static<typeof AuditEntry>

/** The query of the audit log. */
export const AuditQuery = Strict({
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_AUDIT_PAGE, default: 100 })),
  /** Only entries with a smaller number. */
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  type: Type.Optional(AutomationType),
  /** A worker, task, pool or other object. */
  object: Type.Optional(Name),
  /** The name of a token, or what a caller wrote as Muster-Actor. */
  actor: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_ACTOR_CHARS })),
  /** An action such as worker.drain, or its first part: worker. */
  action: Type.Optional(Type.String({ pattern: '^[a-z]+(\\.[a-z]+)?$', maxLength: 64 })),
})

export type AuditQuery = Static<typeof AuditQuery>

/** The answer: entries, newest first, and the `before` of the next page; null at the end of the log. */
export const AuditBody = Type.Object({
  entries: Type.Array(AuditEntry),
  next: Nullable(Type.Integer({ minimum: 1 })),
})
export type AuditBody = Static<typeof AuditBody>
