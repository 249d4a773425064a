/**
 * @module test/slack
 * Spans that a quiet machine keeps easily: one that runs other tests beside may take so many times as long. Nothing that
 * must come out depends on it.
 *
 *   BUDGET_SLACK   1 on a machine that does nothing else
 */
export const SLACK = Number(process.env['BUDGET_SLACK'] ?? 4)
