/**
 * Commands that destroy, publish or take power, as data: an answer "always" to one of them is about exactly the line that was shown.
 *
 * The list is for people who answer quickly. It decides nothing else: what is not on it is asked about all the same.
 */
import type { ShellCommand } from "./command.ts";
import { type RiskyOptions, riskOf } from "./options.ts";
import { afterProgram, programOf } from "./programs.ts";

/** With any arguments. */
const ALWAYS: ReadonlySet<string> = new Set(
  (
    "rm rmdir unlink shred srm dd truncate mkfs fdisk sfdisk parted wipefs mkswap swapoff mount umount sudo doas su pkexec " +
    "kill killall pkill shutdown reboot poweroff halt init telinit crontab visudo passwd useradd userdel usermod groupdel " +
    "iptables ip6tables nft ufw insmod rmmod modprobe sysctl setfacl chattr launchctl diskutil"
  ).split(" "),
);

/** With these options, words or subcommands. */
const WITH: Readonly<Record<string, RiskyOptions>> = {
  chmod: { long: "recursive", short: "R" },
  chown: { long: "recursive", short: "R" },
  chgrp: { long: "recursive", short: "R" },
  mv: { long: "force", short: "f" },
  cp: { long: "force remove-destination", short: "f" },
  rsync: { long: "delete delete-before delete-after delete-excluded remove-source-files" },
  curl: { long: "upload-file data form request output remote-name", short: "TdFXoO" },
  wget: { long: "post-data post-file method output-document", short: "O" },
  git: { subcommands: "clean restore rebase filter-branch filter-repo update-ref gc prune reflog replace" },
  "git push": { long: "force force-with-lease force-if-includes delete mirror prune tags", short: "fd", word: /^[+:]/ },
  "git reset": { long: "hard merge keep" },
  "git checkout": { long: "force", short: "f", word: /^(--|\.)$/ },
  "git switch": { long: "force discard-changes", short: "f" },
  "git branch": { long: "delete force", short: "dDfM" },
  "git tag": { long: "delete force", short: "df" },
  "git stash": { word: /^(drop|clear)$/ },
  "git commit": { long: "amend" },
  "git worktree": { word: /^(remove|prune)$/ },
  "git remote": { word: /^(remove|rm|set-url)$/ },
  npm: { subcommands: "publish unpublish deprecate owner access token dist-tag" },
  pnpm: { subcommands: "publish unpublish" },
  yarn: { subcommands: "publish npm" },
  cargo: { subcommands: "publish yank owner" },
  gh: { subcommands: "repo release secret auth api" },
  docker: { subcommands: "rm rmi system volume network container image kill push" },
  podman: { subcommands: "rm rmi system volume network container image kill push" },
  kubectl: { subcommands: "delete apply replace patch scale drain cordon rollout" },
  helm: { subcommands: "uninstall delete upgrade rollback" },
  terraform: { subcommands: "apply destroy import state taint" },
  systemctl: { subcommands: "stop restart disable mask kill poweroff reboot halt isolate" },
  apt: { subcommands: "remove purge autoremove" },
  "apt-get": { subcommands: "remove purge autoremove" },
  brew: { subcommands: "uninstall remove autoremove cleanup" },
  aws: { word: /^(rm|rb|sync|mv|delete.*|terminate.*)$/ },
  gcloud: { word: /^(delete|destroy)$/ },
  az: { word: /^(delete|purge)$/ },
};

export function isDangerous(command: ShellCommand): boolean {
  const program = programOf(command);
  if (ALWAYS.has(program) || program.startsWith("mkfs.")) return true;
  const args = afterProgram(command);
  const keys = [program, `${program} ${args[0]?.value}`];
  return keys.some((key) => Object.hasOwn(WITH, key) && riskOf(args, WITH[key] ?? {}));
}
