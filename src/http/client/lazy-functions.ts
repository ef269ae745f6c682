type FunctionsByName = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>

/** Functions that are loaded with the first call of one of them. `load` returns an object with the function of that name. */
export function lazyFunctions<T extends object>(load: (name: string) => Promise<Partial<T>>): T {
  const lazy =
    (name: string) =>
    async (...args: readonly unknown[]) => {
      const called = ((await load(name)) as FunctionsByName)[name]
      if (called === undefined) throw new TypeError(`there is nothing called ${name}`)
      return await called(...args)
    }
  // `await` reads `then` to find out whether an object is a promise.
  const get = (_: object, name: string | symbol) =>
    typeof name === 'symbol' || name === 'then' ? undefined : lazy(name)
  // There is a member for every name. The real names are known only after loading.
  return new Proxy({}, { get }) as T
}
