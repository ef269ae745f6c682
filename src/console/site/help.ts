/** Which page of the docs helps with a page of the console, by the beginning of its path. The first one that fits is used. */
export const helpByPath: readonly (readonly [path: RegExp, docs: string])[] = [
  [/^\/connect(?:\/|$)/, 'console#the-first-connection'],
  [/^\/runs\/[^/]+\/(?:decision|approval|rejection)/, 'operate#a-run-is-held'],
  [/^\/runs\/[^/]+\/(?:keys|values)/, 'guards'],
  [/^\/runs\/[^/]+\/revert/, 'operate#a-run-did-what-it-should-not-have-done'],
  [/^\/runs/, 'operate#what-a-runs-state-means'],
  [/^\/people/, 'operate#somebody-asks-about-one-person'],
  [/^\/person\/(?:state|withdraw)-departure/, 'operate#hr-has-not-recorded-a-departure-yet'],
  [/^\/person/, 'operate#somebody-asks-about-one-person'],
  [/^\/problems\/hr/, 'operate#hand-over-to-hr'],
  [/^\/problems/, 'operate#people-who-need-attention'],
  [/^\/effective/, 'effective'],
  [/^\/sources/, 'sources'],
  [/^\/events/, 'webhooks'],
  [/^\/schedules\/[^/]+\/pause/, 'operate#nothing-may-be-read-for-a-while'],
  [/^\/schedules/, 'configure#schedule'],
  [/^\/reports/, 'leavers'],
  [/^\/connections\/[^/]+\/statement/, 'audit#the-population-statement'],
  [/^\/connections\/[^/]+\/unblock/, 'operate#the-platform-refuses-us'],
  [/^\/connections\/[^/]+\/settings/, 'configure#change-settings-in-the-console'],
  [/^\/audit/, 'audit'],
  [/^\/settings/, 'settings'],
]

/** The address of the docs page that helps with the page at a path. The docs themselves have none. */
export function helpFor(url: string): string | null {
  if (/^\/docs(?:[/?]|$)/.test(url)) return null
  const help = helpByPath.find(([path]) => path.test(url))
  return `/docs/${help?.[1] ?? 'console'}`
}
