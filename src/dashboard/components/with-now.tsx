/**
 * @module dashboard/components/with-now
 * Updates the current time every second for all components inside, with one timer.
 */
import { useEffect, useState, type ReactNode } from 'react'
import { NowContext, readNow } from './use-now.ts'

export function WithNow({ children }: { readonly children: ReactNode }) {
  const [now, setNow] = useState(readNow)
  useEffect(() => {
    const timer = setInterval(() => setNow(readNow()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return <NowContext value={now}>{children}</NowContext>
}
