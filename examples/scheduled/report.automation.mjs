import { defineBatch, Type } from 'muster/automation'

export const report = defineBatch({
  type: 'report',
  payload: Type.Object({ run: Type.String({ description: 'The name of the scheduled run' }) }),
  output: Type.Object({ run: Type.String() }),
  async run({ task, emit }) {
    await emit({ run: task.payload.run })
  },
})
