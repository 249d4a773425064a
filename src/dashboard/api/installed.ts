/** @module dashboard/api/installed  Provides the installed automations, loaded by the shell, to every page. */
import { createContext, useContext } from 'react'
import type { Automation, Installed } from './automations.ts'

export const InstalledContext = createContext<Installed>({ automations: [], missing: [] })

export const useInstalled = (): Installed => useContext(InstalledContext)

export function useAutomation(type: string): Automation | undefined {
  return useInstalled().automations.find((each) => each.type === type)
}
