/**
 * Applies `step` to each item, to at most `maxAtOnce` of them at the same time, and yields the results in the order of the items. The
 * first failure in that order is thrown.
 */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  maxAtOnce: number,
  step: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const running: Promise<R>[] = []
  for await (const item of items) {
    const result = step(item)
    // A failure is thrown where its result is awaited. After an earlier failure nobody awaits it.
    result.catch(() => {})
    running.push(result)
    if (running.length >= maxAtOnce) for (const first of running.splice(0, 1)) yield await first
  }
  for (const result of running) yield await result
}
