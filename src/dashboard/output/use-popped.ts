/** @module dashboard/output/use-popped  What this tab popped; one store for the page, which warns before it is lost. */
import { useSyncExternalStore } from 'react'
import { PoppedStore, type Popped } from './popped.ts'

export const popped = new PoppedStore()

addEventListener('beforeunload', (event) => {
  if (popped.hasUnsaved) event.preventDefault()
})

export const usePopped = (type: string): Popped => useSyncExternalStore(popped.watch, () => popped.of(type))
