type Loaded = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

/** Functions that are loaded once one of them is called. What `load` answers for a name has the function of that name. */
export function whenUsed<T extends object>(load: (name: string) => Promise<Partial<T>>): T {
  const later =
    (name: string) =>
    async (...args: readonly unknown[]) => {
      const called = ((await load(name)) as Loaded)[name]
      if (called === undefined) throw new TypeError(`there is nothing called ${name}`)
      return await called(...args)
    }
  // Whoever wants to know whether an object is a promise asks for `then`.
  const get = (_: object, name: string | symbol) =>
    typeof name === 'symbol' || name === 'then' ? undefined : later(name)
  // A member for every name that is asked for: which there are is known once they are loaded.
  return new Proxy({}, { get }) as T
}
