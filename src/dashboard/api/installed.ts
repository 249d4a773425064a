/** @module dashboard/api/installed  The automations of the session, read once by the shell and shared by every place. */
import { createContext, useContext } from 'react'
import type { Automation, Installed } from './automations.ts'

export const InstalledContext = createContext<Installed>({ automations: [], missing: [] })

export const useInstalled = (): Installed => useContext(InstalledContext)

export function useAutomation(type: string): Automation | undefined {
  return useInstalled().automations.find((each) => each.type === type)
}
