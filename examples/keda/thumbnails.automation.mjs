import { defineBatch, Type } from 'muster/automation'

export const thumbnails = defineBatch({
  type: 'thumbnails',
  payload: Type.Object({ image: Type.String() }),
  async run({ sleep }) {
    await sleep(1_000) // A real automation resizes the image here.
  },
})
