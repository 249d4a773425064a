/** @module dashboard/parts/with-now  Has the time go on for everything inside; one timer for the page. */
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
