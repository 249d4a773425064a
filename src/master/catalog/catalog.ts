/**
 * @module master/catalog/catalog
 * Serves the installed automations and `/me`, which shows what the caller's token may do (D32).
 */
import { Type } from 'typebox'
import { toCatalogEntry, toDescriptor } from '../../automation/index.ts'
import {
  API_PREFIX,
  AutomationDescriptor,
  CatalogEntryBody,
  FleetError,
  MAX_WAITING_PROBES,
  MAX_WAIT_SECONDS,
  MeBody,
  toSeconds,
} from '../../protocol/index.ts'
import { sleep } from '../../runtime/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import type { MasterReleases } from '../master-releases.ts'
import { permissionsOf, typesOf, workersOf, type Principal } from '../auth/index.ts'
import { FairShare, route, type Route } from '../http/index.ts'

export interface CatalogDeps extends MasterDeps {
  readonly version: string
  /** The scheme of the backend's URL, such as `filedb`. */
  readonly backendScheme: string
  /** What the live masters implement. */
  readonly releases: MasterReleases
}

export function createCatalogRoutes(deps: CatalogDeps): Part {
  // The catalog never changes while the master runs, so the response bodies are made once.
  const entries = [...deps.catalog.values()]
  const schemas = new Map(entries.map((entry) => [entry.type, toCatalogEntry(entry)]))
  return {
    routes: [
      automationsRoute(entries.map(toDescriptor)),
      catalogRoute(schemas),
      schemasRoute(schemas),
      tokenRoute(deps),
    ],
  }
}

function automationsRoute(descriptors: readonly AutomationDescriptor[]): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/automations`,
    access: 'admin',
    needs: 'fleet',
    summary: 'The installed automations.',
    response: Type.Array(AutomationDescriptor),
    handle: () => ({ body: descriptors }),
  })
}

function catalogRoute(schemas: ReadonlyMap<string, CatalogEntryBody>): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/catalog`,
    access: 'admin',
    needs: 'fleet',
    summary: 'The schemas of all automations, by type.',
    response: Type.Record(Type.String(), CatalogEntryBody),
    handle: () => ({ body: Object.fromEntries(schemas) }),
  })
}

function schemasRoute(schemas: ReadonlyMap<string, CatalogEntryBody>): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/catalog/{type}`,
    access: 'scoped',
    needs: ['read', 'submit'],
    summary: 'The schemas of one automation.',
    response: CatalogEntryBody,
    handle: ({ entry }) => ({ body: schemas.get(entry.type) }),
  })
}

function tokenRoute({ backend, backendScheme, epoch, releases, settings, timers, version }: CatalogDeps): Route {
  const { durable, shared, pubsub } = backend.capabilities
  const places = new FairShare(MAX_WAITING_PROBES)
  const wait = async (seconds: number, principal: Principal, signal: AbortSignal): Promise<void> => {
    if (places.check(principal) !== null)
      throw new FleetError('OVERLOADED', 'too many requests of this kind wait; try again', { retryAfterSeconds: 1 })
    places.take(principal)
    await sleep(timers, seconds * 1_000, signal)
    places.release(principal)
  }
  return route({
    method: 'GET',
    path: `${API_PREFIX}/me`,
    access: 'any',
    needs: null,
    summary: 'Role, permissions and limits of this token.',
    response: MeBody,
    long: true,
    refuses: ['OVERLOADED'],
    reads: {
      prefer: `\`wait=20\` delays the response by 20 s, at most ${MAX_WAIT_SECONDS} s: a long poll without effect.`,
    },
    handle: async ({ principal, header, signal }) => {
      const seconds = waitPreference(header('prefer'))
      if (seconds > 0) await wait(seconds, principal, signal)
      return {
        ...(seconds > 0 && { headers: { 'preference-applied': `wait=${seconds}` } }),
        body: {
          role: principal.role,
          automations: typesOf(principal),
          version,
          epoch: epoch.current,
          backend: { scheme: backendScheme, durable, shared, pubsub },
          limits: { submit_rps_per_token: settings.submitRpsPerToken, max_body_bytes: settings.maxBodyBytes },
          permissions: permissionsOf(principal),
          name: principal.name ?? null,
          ...limitsOf(principal),
          features: [...releases.features],
          ...(settings.environment === undefined ? {} : { environment: settings.environment }),
          masters: releases.masters,
        },
      }
    },
  })
}

/** The seconds of `Prefer: wait=20` (RFC 7240 section 4.3); 0 if the header has no such preference. */
function waitPreference(header: string | undefined): number {
  const [, seconds = '0'] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,4})"?\s*(?:[,;]|$)/i.exec(header ?? '') ?? []
  return Math.min(Number(seconds), MAX_WAIT_SECONDS)
}

/** What only some tokens have: their workers, when they expire, and the issuer of a JWT. */
function limitsOf(principal: Principal): Pick<MeBody, 'workers' | 'expires_at' | 'issuer'> {
  const { expiresAtMs, jwt } = principal
  const workers = workersOf(principal)
  return {
    ...(workers.includes('*') ? {} : { workers: [...workers] }),
    ...(expiresAtMs !== undefined && { expires_at: toSeconds(expiresAtMs) }),
    ...(jwt !== undefined && { issuer: jwt.issuer.name }),
  }
}
