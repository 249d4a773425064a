/**
 * The Python of hack/install-python.sh clients, for the tests of the Python worker. Without it, these tests are skipped
 * by name; with CI=true the installation itself fails.
 */
import { describe, it } from '@jest/globals'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const PYTHON_CLIENT = join(process.cwd(), 'clients/python')
const PROGRAMS = join(process.cwd(), '.tools/clients/bin')
export const PYTHON = join(PROGRAMS, 'python')
export const PYTHON_ENVIRONMENT = {
  PATH: `${PROGRAMS}:${process.env['PATH'] ?? ''}`,
  PYTHONPATH: join(PYTHON_CLIENT, 'src'),
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
}

/** Runs `define`, which describes tests. Without the Python client's packages it defines a named skip instead. */
export function withPythonClient(name: string, define: () => void): void {
  if (existsSync(PYTHON)) define()
  else describe(name, () => it.skip('the packages of clients/python are not installed', () => undefined))
}
