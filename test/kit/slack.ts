/**
 * @module test/kit/slack
 * Factor for time limits that an idle machine keeps easily. A machine that runs other tests may take that many times as
 * long. No result depends on it.
 *
 *   BUDGET_SLACK   1 on an idle machine
 */
export const SLACK = Number(process.env['BUDGET_SLACK'] ?? 4)
