"""Does a policy keep the contract? `check_policy` tests an object, or a policy with a name."""

from banditsrl.core.contract import verify_contract
from banditsrl.core.representation import Representation
from banditsrl.policies.policy_catalogue import make_policy
from banditsrl.simulation.named_sides import GivenPolicy, GivenProblem, find_problem


def check_policy(
    policy: GivenPolicy,
    problem: GivenProblem,
    *,
    representation: int | Representation | None = None,
) -> tuple[str, ...]:
    """Verify that `policy` keeps the contract, on contexts of `problem`.

    Args:
        policy: Any object with `init`, `act` and `learn`, or the name of a policy.
        problem: Where the contexts come from: a problem, or its name.
        representation: An index into the problem's candidates, or a representation. If given,
            the policy gets embedded contexts, (n_actions, dim), as the base of BanditSRL does.
            The embedding of an index is padded with zeros to the largest dimension among the
            candidates.

    Returns:
        The names of the checks that passed (all of them).

    Raises:
        ContractViolation: With one sentence for each check that fails, as a list if there are
            several; `defects` holds the sentences.

    Example:
        >>> import banditsrl
        >>> problem = banditsrl.make_problem("vardim-realizable")
        >>> passed = banditsrl.check_policy(banditsrl.LinUCB(problem.representations[0]), problem)
        >>> "maps over seeds" in passed
        True
    """
    place = find_problem(problem)
    subject = make_policy(policy, place) if isinstance(policy, str) else policy
    return verify_contract(subject, place, representation=representation)
