/**
 * The roles of a daemon process. `api`: webhooks, pages and the control API; `scheduler`: schedules, watched folders, recovery, alerts,
 * retention; `worker`: the jobs of the queue. This file has no schemas, so that `rollcall status` starts without loading them.
 */
export const processRoles = ['api', 'scheduler', 'worker'] as const
