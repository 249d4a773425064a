/** @module dashboard/settings/actor  Builds and shows the names under which changes are recorded (D39). */

/** Keeps printable ASCII only, since the actor is sent in an HTTP header (D39). At most 100 characters. */
export const actorOf = (name: string): string => {
  const plain = name
    .replaceAll(/[^ -~]/g, '')
    .trim()
    .slice(0, 100)
  return plain === '' ? 'dashboard' : `dashboard:${plain}`
}

const CLIENTS: Readonly<Record<string, string>> = { dashboard: 'dashboard', cli: 'command line' }
const ACTOR = /^(?<role>\S+) (?<client>dashboard|cli)(?::(?<name>.+))?$/

/** The author of a change in words: `admin dashboard:ana` becomes `ana (admin, dashboard)`. Others stay as they are. */
export function actorText(actor: string): string {
  const { role, client, name } = ACTOR.exec(actor)?.groups ?? {}
  if (role === undefined || client === undefined) return actor
  return name === undefined ? `${role} (${CLIENTS[client]})` : `${name} (${role}, ${CLIENTS[client]})`
}
