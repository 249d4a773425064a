/** @module automations/shared-config  The config fields that both first-party automations have. */
import { Type } from '../automation/index.ts'

const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4_RANGE = `${OCTET}(\\.${OCTET}){3}/([0-9]|[12][0-9]|3[0-2])`
const IPV6_RANGE = '[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8])'
const CIDR = `^(${IPV4_RANGE}|${IPV6_RANGE})$`

/** The secret, bound to the fields of the config that decide where it is sent (D88). */
export const authorizationBoundTo = (...fields: readonly string[]) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4_096,
      pattern: '^[ -~]+$',
      writeOnly: true,
      'x-muster-bound-to': [...fields, 'allow_cidrs', 'allow_ports'],
      description:
        `Value of the authorization header. A PATCH that changes ${fields.join(', ')}, ` +
        'allow_cidrs or allow_ports has to send it again.',
    }),
  )

export const SHARED_CONFIG = {
  follow_redirects: Type.Integer({
    minimum: 0,
    maximum: 5,
    default: 0,
    description: 'Maximum number of redirects to follow; each one is checked like the first URL.',
  }),
  user_agent: Type.String({ minLength: 1, maxLength: 200, pattern: '^[ -~]+$', default: 'muster' }),
  allow_cidrs: Type.Array(Type.String({ pattern: CIDR }), {
    maxItems: 32,
    default: [],
    description: 'Private ranges that may be connected to, for example 10.0.0.0/8.',
  }),
  allow_ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { maxItems: 32, default: [80, 443] }),
} as const
