/** Requires a valid certificate of every server, regardless of the environment and the command line of Node. */
export const provenServers = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const
