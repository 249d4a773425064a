/** Runs kubeconform with the recorded schemas of a real API server and closed ones of foreign kinds (R2). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { run, type Json } from './chart.ts'
import { FOREIGN_DEFINITIONS } from './foreign.ts'

export const RECORDED = resolve('test/chart/schemas')
/** The file of a kind, for example `apps/v1 Deployment`. */
export const fileOf = (id: string): string =>
  `${id
    .replace(/^(.*) (.*)$/, '$2-$1')
    .replaceAll('/', '-')
    .toLowerCase()}.json`

/** The closed schema in the definition of a kind. */
function closedDefinition(schema: Json): Json {
  const { properties, items, ...rest } = schema as { properties?: Readonly<Record<string, Json>>; items?: Json }
  return {
    ...rest,
    ...(items === undefined ? {} : { items: closedDefinition(items) }),
    ...(properties === undefined
      ? {}
      : {
          additionalProperties: rest['x-kubernetes-preserve-unknown-fields' as never] ?? false,
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, each]) => [key, closedDefinition(each)]),
          ),
        }),
  }
}

export class Conformance {
  readonly #folder = mkdtempSync(join(tmpdir(), 'muster-schemas-'))

  constructor() {
    const set = parse(readFileSync('charts/muster/files/fleetworkersets.muster.dev.yaml', 'utf8')) as object
    for (const { spec } of [...FOREIGN_DEFINITIONS, set] as unknown as readonly {
      spec: {
        group: string
        names: { kind: string }
        versions: readonly { name: string; schema: { openAPIV3Schema: Json } }[]
      }
    }[]) {
      const [version] = spec.versions
      writeFileSync(
        join(this.#folder, fileOf(`${spec.group}/${version?.name} ${spec.names.kind}`)),
        JSON.stringify(closedDefinition(version?.schema.openAPIV3Schema as Json)),
      )
    }
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
