/** @module dashboard/charts/use-stats  Polls the statistics of a worker while a component is mounted. */
import { useEffect, useState } from 'react'
import type { WorkerBody } from '../../protocol/index.ts'
import { useRead, type Read } from '../api/queries.ts'
import type { StatsColumns } from './columns.ts'
import { StatsSource } from './stats-source.ts'

const EVERY_MS = 15_000

export function useStats({
  automation_type: type,
  worker_id: id,
  registered_at: registered,
}: WorkerBody): Read<StatsColumns> {
  const [source] = useState(() => new StatsSource(type, id))
  useEffect(() => () => source.close(), [source])
  return useRead(['stats', type, id, registered], EVERY_MS, (api, signal) => source.read(api, signal))
}
