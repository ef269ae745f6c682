import { userInfo } from 'node:os'

/** The name of the user who runs this process, or `uid N` if the user has no name, as in some containers. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
