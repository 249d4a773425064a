/** Which workers a token with several grants may name and select in an operation (D227). */
import { describe, expect, it } from '@jest/globals'
import { permissionsFor, requireOperationPermission } from '../../../src/master/operations/request.ts'
import { workerFilter, type Principal } from '../../../src/master/auth/index.ts'
import type { Permission } from '../../../src/protocol/index.ts'

const grant = (workers: readonly string[], ...permissions: Permission[]) => ({
  permissions: new Set(permissions),
  types: new Set(['mailer']),
  workers,
})
/** Operates every worker, and configures some. */
const PRINCIPAL: Principal = {
  role: 'scoped',
  key: 'k',
  id: 'k',
  grants: [grant(['*'], 'read', 'operate'), grant(['img-*'], 'read', 'configure')],
}
const ENTRY = { type: 'mailer' }

describe('an operation of a token with several grants', () => {
  it('that changes only slots or enabled needs one of two permissions for each worker, as a single PATCH does', () => {
    const permissions = requireOperationPermission(PRINCIPAL, ENTRY, { kind: 'patch', fields: ['slots'] })
    expect(permissions).toEqual(['operate', 'configure'])
    expect(workerFilter(PRINCIPAL, permissions, 'mailer')).toBeNull()
  })

  it('that changes other fields selects the workers that the token may configure', () => {
    const permissions = requireOperationPermission(PRINCIPAL, ENTRY, { kind: 'patch', fields: ['slots', 'note'] })
    const filter = workerFilter(PRINCIPAL, permissions, 'mailer')
    expect(['img-1', 'web-1'].map((id) => filter?.(id))).toEqual([true, false])
  })

  it.each(['drain', 'replay'] as const)('of kind %s needs the permission to operate', (kind) => {
    expect(permissionsFor({ kind, fields: [] })).toEqual(['operate'])
  })
})
