/**
 * @module dashboard/parts/boundary
 * Keeps a fault of one place from taking the whole page away: a mistake of ours, or a part of the page that cannot be
 * loaded because the master was replaced by a newer one since the page was opened.
 */
import { Component, type ReactNode } from 'react'
import { asProblem, Problem } from '../api/problem.ts'
import { ErrorPanel } from './error-panel.tsx'

export interface BoundaryProps {
  /** What the place is called; with another name it is tried again. */
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
          title="This place cannot be shown:"
        >
          <p>
            {missing && 'Perhaps the master is away, or was replaced by a newer one since this page was opened. '}The
            other places still work.{' '}
            <button type="button" onClick={() => location.reload()}>
              Load the page anew
            </button>
          </p>
        </ErrorPanel>
      </>
    )
  }
}

/** Chromium, Firefox and Safari each name the import that failed, in words of their own. */
const isMissing = (reason: unknown): boolean =>
  reason instanceof TypeError && /dynamically imported module|importing a module/i.test(reason.message)
