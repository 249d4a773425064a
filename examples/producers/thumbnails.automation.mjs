import { defineBatch, Type } from 'muster/automation'

export const thumbnails = defineBatch({
  type: 'thumbnails',
  payload: Type.Object({ image: Type.String(), width: Type.Integer({ minimum: 16, maximum: 4096 }) }),
  result: Type.Object({ path: Type.String() }),
  async run({ task: { payload }, sleep }) {
    await sleep(100) // A real automation resizes the image here.
    return { path: payload.image.replace(/(\.\w+)$/, `-${payload.width}$1`) }
  },
})
