import { isAbsolute, relative } from 'node:path'

/** A path as a configuration in `folder` writes it: relative where it lies below the folder. */
export function pathFrom(folder: string, path: string): string {
  const short = relative(folder, path)
  return short.startsWith('..') || isAbsolute(short) ? path : `./${short}`.replace(/^\.\/(?=.)/, '')
}
