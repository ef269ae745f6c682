import { userInfo } from 'node:os'

/** Who uses this machine. In a container that may be a number without a name. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
