/** @module dashboard/api/me  Checks a token and its permissions (D32), and explains why a token is not usable here. */
import type { MeBody } from '../../protocol/index.ts'
import type { Api } from './client.ts'
import { asProblem, type Problem } from './problem.ts'

export type Me = MeBody
/** The permissions that decide what the dashboard shows. */
export type Rights = Pick<Me, 'role' | 'automations'>

export type TokenCheck =
  | { readonly kind: 'accepted'; readonly me: Me }
  | { readonly kind: 'rejected' }
  | { readonly kind: 'worker' }
  | { readonly kind: 'no_response'; readonly problem: Problem }

export async function checkToken(api: Api, signal?: AbortSignal): Promise<TokenCheck> {
  try {
    const { body: me } = await api.get<Me>(['me'], {}, signal)
    return me.role === 'worker' || me.role === 'scaler' ? { kind: 'worker' } : { kind: 'accepted', me }
  } catch (error) {
    const problem = asProblem(error)
    return problem.status === 401 || problem.status === 403 ? { kind: 'rejected' } : { kind: 'no_response', problem }
  }
}

/** @returns the error message for the user; null if the token was accepted. */
export function checkText(check: TokenCheck): string | null {
  switch (check.kind) {
    case 'accepted':
      return null
    case 'rejected':
      return 'The master does not accept this token. Check that you copied all of it.'
    case 'worker':
      return 'This is a worker token. The dashboard needs an admin token, or one scoped to automation types.'
    case 'no_response':
      return check.problem.status === null
        ? 'The master is not responding, so the token was not checked. Try again later.'
        : `The master could not check the token: ${check.problem.message}.`
  }
}

/** Why a user who has signed in is asked for a token again. */
export const endedText = (check: TokenCheck): string | null =>
  check.kind === 'rejected' ? 'This token is no longer accepted. Sign in with another one.' : checkText(check)

/** The label of the token chip. */
export function roleText({ role, automations }: Rights): string {
  if (role !== 'scoped') return role
  const [first = 'nothing', ...more] = automations
  if (first === '*') return 'scoped: all types'
  return `scoped: ${first}${more.length > 0 ? `, +${more.length}` : ''}`
}

const DAY_MS = 86_400_000
const SHOWN_DAYS = 14

/** @returns the days that the token is valid, when fewer than 14 are left; null otherwise. */
export function expiryText({ expires_at: expiresAt }: Pick<Me, 'expires_at'>, nowMs: number): string | null {
  const days = Math.floor(((expiresAt ?? Infinity) * 1_000 - nowMs) / DAY_MS)
  if (days >= SHOWN_DAYS) return null
  return days < 1 ? 'expires within a day' : `expires in ${days} ${days === 1 ? 'day' : 'days'}`
}

/** Whether the text can be sent as a header value: printable ASCII without spaces. */
export const isTokenText = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)
