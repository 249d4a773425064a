import { describe, expect, it } from '@jest/globals'
import { judge } from '../fleetworker/kstatus.ts'
import { SET_STATES } from './states.ts'

describe('the states of a FleetWorkerSet', () => {
  it.each(SET_STATES)('are judged by kstatus, Argo CD and kubectl wait as listed ($name)', ({ object, expected }) => {
    expect(judge(object)).toEqual(expected)
  })
})
