/**
 * @module dashboard/components/boundary
 * Catches render errors of one page, so that the rest of the dashboard keeps working: bugs, and code that cannot be
 * loaded because the master was upgraded after the dashboard was opened.
 */
import { Component, type ReactNode } from 'react'
import { asProblem, Problem } from '../api/problem.ts'
import { ErrorPanel } from './error-panel.tsx'

export interface BoundaryProps {
  /** Title of the page; the error is cleared when it changes. */
  readonly of: string
  readonly children: ReactNode
}

interface BoundaryState {
  readonly error: { readonly reason: unknown } | null
  readonly of: string
}

export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override readonly state: BoundaryState = { error: null, of: this.props.of }

  static getDerivedStateFromError(reason: unknown): Pick<BoundaryState, 'error'> {
    return { error: { reason } }
  }

  static getDerivedStateFromProps({ of }: BoundaryProps, state: BoundaryState): BoundaryState {
    return of === state.of ? state : { error: null, of }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    const missing = isMissing(error.reason)
    return (
      <>
        <h1>
          <bdi>{this.props.of}</bdi>
        </h1>
        <ErrorPanel
          problem={
            missing
              ? new Problem('a part of the page could not be loaded', { cause: error.reason })
              : asProblem(error.reason)
          }
          title="This page cannot be displayed:"
        >
          <p>
            {missing && 'The master may be unavailable, or may have been upgraded since you opened this page. '}Other
            pages still work.{' '}
            <button type="button" onClick={() => location.reload()}>
              Reload
            </button>
          </p>
        </ErrorPanel>
      </>
    )
  }
}

/** Recognizes a failed dynamic import by the messages of Chromium, Firefox and Safari. */
const isMissing = (reason: unknown): boolean =>
  reason instanceof TypeError && /dynamically imported module|importing a module/i.test(reason.message)
