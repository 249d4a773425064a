import { defineBatch, defineContinuous, RetryIn, Type } from 'muster/automation'

const pools = { 'mail-accounts': { payload: Type.Object({ password: Type.String() }) } }

/** Puts the accounts of its config into the pool. An edit of the config adds accounts without a restart. */
export const accounts = defineContinuous({
  type: 'accounts',
  config: Type.Object({ names: Type.Array(Type.String(), { default: ['ann', 'bob'] }) }),
  output: Type.Object({ count: Type.Integer() }),
  pools,
  async run({ config, pool, emit, sleep }) {
    await pool('mail-accounts').put(config.names.map((id) => ({ id, payload: { password: `secret of ${id}` } })))
    await emit({ count: config.names.length })
    await sleep(60_000)
  },
})

/** Sends a message with one of the accounts. No account is used by two runs simultaneously. */
export const mailer = defineBatch({
  type: 'mailer',
  payload: Type.Object({ to: Type.String() }),
  result: Type.Object({ account: Type.String() }),
  pools,
  async run({ task, pool, sleep }) {
    await using account = await pool('mail-accounts').claim({ holdSeconds: 30 })
    if (account === null) throw new RetryIn(0.2, 'every account is in use')
    await sleep(200) // A real automation sends the message here, with account.payload.password.
    return { account: account.id }
  },
})
