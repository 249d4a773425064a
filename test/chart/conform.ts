/** Runs kubeconform with the recorded schemas of a real API server and closed ones of foreign kinds (R2). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './chart.ts'
import { DEFINED, fileOf, RECORDED } from './closed-schemas.ts'

export class Conformance {
  readonly #folder = mkdtempSync(join(tmpdir(), 'muster-schemas-'))

  constructor() {
    for (const [id, schema] of DEFINED) writeFileSync(join(this.#folder, fileOf(id)), JSON.stringify(schema))
  }

  /** @returns the report of kubeconform for the objects in this text. */
  of(objects: string): { readonly status: number | null; readonly stdout: string } {
    const file = join(this.#folder, 'objects.yaml')
    writeFileSync(file, objects)
    const places = [RECORDED, this.#folder].flatMap((each) => [
      '-schema-location',
      join(each, '{{ .ResourceKind }}{{ .KindSuffix }}.json'),
      '-schema-location',
      join(each, '{{ .ResourceKind }}-{{ .Group }}-{{ .ResourceAPIVersion }}.json'),
    ])
    return run('kubeconform', ['-strict', '-summary', ...places, file])
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
