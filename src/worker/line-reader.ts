/**
 * @module worker/line-reader
 * Reads the response to an rpc request that accepts lines (D125): the notifications of a streaming reserve, then the
 * response of its call. Empty lines only show that the connection is alive.
 */
import type { ReservedTask, RpcResponse } from '../protocol/index.ts'

type Line = RpcResponse | { readonly method: string; readonly params: { readonly tasks: readonly ReservedTask[] } }

/**
 * @param chunks The body of the response.
 * @param onTasks Called with the tasks of each notification.
 * @param onChunk Called when data arrive.
 * @returns the response of the call; undefined if the body ended before it.
 * @throws {SyntaxError} if a line is not JSON, and what `chunks` throws.
 */
export async function readLines(
  chunks: AsyncIterable<Uint8Array>,
  onTasks: (tasks: readonly ReservedTask[]) => void,
  onChunk: () => void,
): Promise<RpcResponse | undefined> {
  const decoder = new TextDecoder()
  const parts: string[] = [] // Of a line whose end has not arrived. They are joined once, at its end.
  let response: RpcResponse | undefined
  for await (const chunk of chunks) {
    onChunk()
    const [first = '', ...rest] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    for (const start of rest) {
      const text = parts.splice(0).join('')
      parts.push(start)
      if (text === '') continue
      const line = JSON.parse(text) as Line
      if ('method' in line) onTasks(line.params.tasks)
      else response = line
    }
  }
  return response
}
