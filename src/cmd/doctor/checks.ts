/** @module cmd/doctor/checks  All checks in the order in which they are printed. The longest one is the last. */
import type { Check } from './check.ts'
import { crds, operatorLease, tenants } from './cluster-checks.ts'
import { store, workers } from './fleet-checks.ts'
import { clock, healthz, token, versions } from './master-checks.ts'
import { dns, tcp, tls } from './network-checks.ts'
import { body, events, longPoll, websocket } from './proxy-checks.ts'
import { proxyVariables, settings } from './settings-checks.ts'

export const CHECKS: readonly Check[] = [
  settings,
  proxyVariables,
  dns,
  tcp,
  tls,
  healthz,
  token,
  versions,
  store,
  workers,
  websocket,
  events,
  clock,
  body,
  crds,
  operatorLease,
  tenants,
  longPoll,
]
