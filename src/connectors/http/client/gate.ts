/** Lets at most `maxAtOnce` of the steps that are given to it run at the same time. The others wait, the first one first. */
export function openGate(maxAtOnce: number): <T>(step: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (step) => {
    if (running < maxAtOnce) running += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await step()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}
