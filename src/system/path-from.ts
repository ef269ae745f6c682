import { isAbsolute, relative } from 'node:path'

/** The path relative to `folder` if it lies below it, as a configuration writes it; else the path itself. */
export function pathFrom(folder: string, path: string): string {
  const short = relative(folder, path)
  return short.startsWith('..') || isAbsolute(short) ? path : `./${short}`.replace(/^\.\/(?=.)/, '')
}
