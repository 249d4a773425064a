import { defineBatch, Permanent, Type } from 'muster/automation'
import { totalOf } from './total.js'

export const invoices = defineBatch({
  type: 'invoices',
  config: Type.Object({
    currency: Type.String({ default: 'EUR', description: 'The currency of all prices' }),
    prices: Type.Record(Type.String(), Type.Number(), {
      default: { book: 12 },
      description: 'The price of each product',
    }),
  }),
  payload: Type.Object({ product: Type.String(), count: Type.Integer({ minimum: 1 }) }),
  result: Type.Object({ total: Type.String() }),
  run({ config, task: { payload } }) {
    const price = config.prices[payload.product]
    if (price === undefined) throw new Permanent(`no price for "${payload.product}"`)
    return { total: totalOf(payload.count, price, config.currency) }
  },
})
