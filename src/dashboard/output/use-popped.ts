/**
 * @module dashboard/output/use-popped
 * Provides the popped entries, and warns before they are lost when the page is closed.
 */
import { useSyncExternalStore } from 'react'
import { PoppedStore, type Popped } from './popped.ts'

export const popped = new PoppedStore()

addEventListener('beforeunload', (event) => {
  if (popped.hasUnsaved) event.preventDefault()
})

export const usePopped = (type: string): Popped => useSyncExternalStore(popped.watch, () => popped.of(type))
