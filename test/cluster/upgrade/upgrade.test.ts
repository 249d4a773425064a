/**
 * Upgrades the previous chart release to this one on a real cluster, with the images of both: masters, Redis, operator
 * and workers are replaced while tasks arrive. FleetWorkers, configs and tokens stay as they are, and no acknowledged
 * task is lost; the same holds on the way back. The steps depend on one another.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { eventually } from '../../kit/index.ts'
import { forgetDocument, ignoreDocument } from '../../openapi/every-response.ts'
import { chain, FOLDER, withOption } from '../cluster.ts'
import { Load } from '../load.ts'
import { CHART } from '../release.ts'
import { EchoRelease } from './echo-release.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const PREVIOUS_IMAGE = 'localhost/muster:previous'
const IMAGE = `localhost/muster:${version}`
const STEP_MS = 300_000
/** Number of acknowledged tasks after which the load counts as running. */
const SOME = 50
const SET = 'all-echo'

withOption('previous', 'an upgrade', () => {
  describe('an upgrade from the previous release', () => {
    const release = new EchoRelease(`upgrade-${randomBytes(3).toString('hex')}`)
    const figures: string[] = []
    const step = chain('the upgrade', STEP_MS)
    const previousChart = `${readFileSync(`${FOLDER}/previous`, 'utf8')}/charts/muster`

    /** Changes the release while tasks arrive: nothing but its pods may change. */
    const expectKept = async (name: string, image: string, change: () => Promise<void>): Promise<void> => {
      const before = await release.kept()
      const load = new Load(release, name)
      try {
        await eventually('the load runs', async () => load.acknowledged.length >= SOME)
        const beganMs = Date.now()
        await change()
        await release.runs(image)
        if (image === IMAGE) forgetDocument(release.url)
        else ignoreDocument(release.url)
        await eventually('every FleetWorker is Ready', () => release.areReady(), { withinMs: 60_000 })
        figures.push(`${name}: ${((Date.now() - beganMs) / 1_000).toFixed(1)} s until every FleetWorker was Ready`)
        const already = load.acknowledged.length
        await eventually('the load runs again', async () => load.acknowledged.length >= already + SOME)
      } finally {
        await load.end()
      }
      const pause = (load.longestPauseMs / 1_000).toFixed(1)
      figures.push(`${name}: ${load.acknowledged.length} tasks acknowledged, longest pause ${pause} s`)
      expect(await release.kept()).toEqual(before)
      await release.expectRun(load.acknowledged)
    }
    const expectEdited = async (worker: string, note: string): Promise<void> => {
      const { config_gen } = await release.worker(worker)
      await release.patch(worker, note)
      await eventually('the edit is applied', async () => {
        const now = await release.worker(worker)
        return now.config['note'] === note && now.applied_config_gen === config_gen + 1
      })
    }

    beforeAll(async () => {
      await release.place.kubectl('create', 'namespace', release.place.name)
      await release.install(previousChart, '--set=image.tag=previous')
      await release.connect()
      await release.applyFleetWorkers()
    }, STEP_MS)

    afterAll(async () => {
      await release.remove()
      console.log(figures.join('\n'))
    }, STEP_MS)

    step('begins with FleetWorkers that are Ready, and workers that run tasks', async () => {
      await eventually('every FleetWorker is Ready', () => release.areReady(), { withinMs: 60_000 })
      await release.runs(PREVIOUS_IMAGE)
      expect(await release.kinds()).toEqual(['fleetworkers.muster.dev'])
    })

    step('keeps FleetWorkers, configs, tokens and tasks when the chart is upgraded', async () => {
      await expectKept('upgrade', IMAGE, () => release.upgrade(CHART, '--set=image.tag='))
      expect(await release.kinds()).toEqual(['fleetworkers.muster.dev', 'fleetworkersets.muster.dev'])
    })

    step('applies an edit of a FleetWorker after the upgrade', async () => {
      for (const worker of release.workers) await expectEdited(worker, 'upgraded')
    })

    step('leaves workers to their FleetWorkers, and gives a set those whose FleetWorker is deleted', async () => {
      const before = await release.kept()
      await release.applySet(SET, 'of the set')
      await eventually('the set knows both workers', async () => (await release.set(SET)).pinned === 2)
      expect(await release.kept()).toEqual(before)
      const [kept = '', deleted = ''] = release.workers
      await release.place.kubectl('delete', 'fleetworker', deleted, '--timeout=60s')
      await eventually('the set configures the worker', async () => {
        const { config, config_gen, applied_config_gen } = await release.worker(deleted)
        return config['note'] === 'of the set' && applied_config_gen === config_gen
      })
      expect(await release.worker(kept)).toMatchObject({ config: { note: 'upgraded' } })
      await release.place.kubectl('delete', 'fleetworkerset', SET, '--timeout=60s')
      await release.applyFleetWorkers('upgraded')
      await eventually('every FleetWorker is Ready', () => release.areReady())
    })

    step('keeps them again when the upgrade is rolled back', async () => {
      await expectKept('rollback', PREVIOUS_IMAGE, () => release.rollBack(1))
      for (const worker of release.workers) await expectEdited(worker, 'rolled back')
    })
  })
})
