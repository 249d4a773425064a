/** @module dashboard/config/fault-list  Lists the errors of a config with the path of each field. */
import type { FieldError } from '../../protocol/index.ts'

export function FaultList({ faults }: { readonly faults: readonly FieldError[] }) {
  return (
    <ul>
      {faults.map(({ path, message }) => (
        <li key={path + message}>
          <code>
            <bdi>{path === '' ? 'the config' : path}</bdi>
          </code>{' '}
          <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  )
}
