/** @module dashboard/operations/commands  The commands that do what the page of an operation does. */
import type { OperationShown } from '../../protocol/index.ts'
import { curlCommand, musterCommand, type Command } from '../components/commands.ts'
import { operationPath } from './path.ts'

type Named = Pick<OperationShown, 'type' | 'operation'>

const nameOf = ({ type, operation }: Named): string => `${type}/${operation}`

/** @param base As in `curlCommand`. */
export const showCommands = (base: URL, operation: Named): readonly Command[] => [
  curlCommand(base, { method: 'GET', path: operationPath(operation.type, operation.operation) }),
  musterCommand(base, 'operations', 'get', nameOf(operation)),
]

/** @param base As in `curlCommand`. */
export const actCommands = (base: URL, operation: Named, act: 'cancel' | 'undo'): readonly Command[] => [
  curlCommand(base, { method: 'POST', path: operationPath(operation.type, operation.operation, act) }),
  musterCommand(base, 'operations', act, nameOf(operation)),
]
