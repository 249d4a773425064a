/** @module dashboard/operations/path  The paths of operations in the API. */

export const operationPath = (type: string, ...below: readonly string[]): readonly string[] => [
  'automations',
  type,
  'operations',
  ...below,
]
