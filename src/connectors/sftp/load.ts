import { withOptionalPackage } from '../../system/optional-package.ts'

/** `connectSftp`, with its packages loaded when the first source needs them. */
export const loadSftp = () => withOptionalPackage(() => import('./connect.ts'), { name: 'ssh2', use: 'SFTP' })
