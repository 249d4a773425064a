/**
 * @module protocol/permissions
 * Defines the permissions of tokens. Every route that needs a token names the permission that opens it. A role is a set
 * of permissions, limited to the automation types of its token.
 *
 *   read       records, configs with their secrets masked, queues, outputs, events, dry runs
 *   submit     queue tasks and look them up
 *   operate    drain and forget workers, replay dead tasks, cancel tasks, set `enabled` and `slots` of a config,
 *              acknowledge items of the attention list, operations of these kinds
 *   consume    pop outputs, which removes them
 *   purge      remove dead tasks
 *   configure  change every field of a config, many configs, revisions, enrolment rules, rollout reports, and claims
 *   fleet      what belongs to no single type: the list of automations, the catalog, pools
 *   scale      the load of the types, for autoscalers (D140)
 *   work       what workers do: poll their config, reserve and settle tasks
 * @see D86
 */

/** The permissions that an entry of SVC_TOKENS can list. Others belong to one role each. */
export const SCOPED_PERMISSIONS = ['read', 'submit', 'operate', 'consume', 'purge', 'configure'] as const
/** All permissions. */
export const PERMISSIONS = [...SCOPED_PERMISSIONS, 'fleet', 'scale', 'work'] as const
/** A permission. */
export type Permission = (typeof PERMISSIONS)[number]

/** The permissions of each role of a token: those of SVC_TOKENS, and the roles that the other token settings give. */
export const ROLE_PERMISSIONS = {
  viewer: ['read'],
  responder: ['read', 'operate'],
  producer: ['submit'],
  editor: SCOPED_PERMISSIONS,
  admin: [...SCOPED_PERMISSIONS, 'fleet'],
  worker: ['work'],
  scaler: ['scale'],
} as const satisfies Readonly<Record<string, readonly Permission[]>>

/** The roles that an entry of SVC_TOKENS can name. */
export const SCOPED_ROLES = ['viewer', 'responder', 'producer', 'editor'] as const
